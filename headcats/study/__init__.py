"""A study: tasks x methods on one model, into a results folder."""
