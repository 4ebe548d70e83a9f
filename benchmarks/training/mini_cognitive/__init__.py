"""The training of the bundled model "mini-cognitive"."""

from training.mini_cognitive.recipe import RECIPE as RECIPE
