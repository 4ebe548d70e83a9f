"""An example of a package that adds to headcats: a task, a metric, a rule, two methods and their figures."""
