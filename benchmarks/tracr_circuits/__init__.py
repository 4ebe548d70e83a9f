"""Known circuits: RASP programs that tracr compiled into one transformer, and what headcats finds in it."""
