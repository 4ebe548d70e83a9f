"""Users' files as tasks: formats, layouts, folders and what of their rows is dropped.

Formats give `Records` (json_file, tables), layouts (word_pairs, finished_prompts, options) turn them into
tasks, `task_rows` counts what is dropped, `loading` names the tasks of a file or a folder.
"""
