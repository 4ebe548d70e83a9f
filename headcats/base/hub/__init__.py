"""The Hugging Face hub: files of a repository fetched into the cache, checked, read without network, and uploaded.

huggingface_hub itself goes on with a file whose connection was lost, and repeats requests for files that are refused
for a while. It does not repeat the first request, nor compare what comes over HTTP with the hash that the hub names.
What goes wrong is a `HubProblem`, of which callers make one sentence.
"""
