"""Train a bundled model and measure it.

python benchmarks/train.py mini --seed 0 --out DIR   train one seed, or go on from DIR's checkpoint
python benchmarks/train.py mini --evaluate DIR       compute the numbers of DIR's card again

Training keeps eight models on its way in DIR/checkpoints, each a folder in Hugging Face layout.
"""

import argparse
import json
import logging
from pathlib import Path

import torch
from training import mini, mini_cognitive
from training.recipe import evaluate, train

RECIPES = {"mini": mini.RECIPE, "mini-cognitive": mini_cognitive.RECIPE}


def main() -> None:
    """Parse the command line and do the one thing it asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=RECIPES)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--seed", type=int, help="train this seed into --out")
    action.add_argument("--evaluate", type=Path, metavar="DIR", help="print the numbers of a written folder as JSON")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--eager", action="store_true", help="do not compile the forward pass (no C++ compiler needed)")
    options = parser.parse_args()
    if options.out is None and options.evaluate is None:
        parser.error("--seed needs --out DIR")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.set_num_threads(options.threads)
    recipe = RECIPES[options.model]
    if options.evaluate is not None:
        print(json.dumps(evaluate(recipe, options.evaluate), indent=1))
    else:
        train(recipe, options.seed, options.out, compiled=not options.eager)


if __name__ == "__main__":
    main()
