"""The training of the bundled model "mini"."""

from training.mini.recipe import RECIPE as RECIPE
