"""Show a page of the documentation, or the list of all; or write all of it as a site; or print the man page.

  pydotcompute docs                         which pages there are
  pydotcompute docs language                one of them
  pydotcompute docs --output site           all of them as a static site: open site/index.html; needs the extra 'docs'
  pydotcompute docs --man > pydotcompute.1  the man page: into ~/.local/share/man/man1, or look at it with man -l

Nothing is fetched: the pages are part of the package.
"""

from __future__ import annotations

import argparse
import shutil
import sys

from .arguments import add_common, check_names, file_name, print_json
from .terminal import paint, say, table, tell

WIDEST = 100  # columns: longer lines are hard to read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="the page to show (default: list them)")
    add_common(parser)
    parser.add_argument("-o", "--output", metavar="DIR", type=file_name, help="write a static site to DIR")
    parser.add_argument("--man", action="store_true", help="print the man page")


def run(options: argparse.Namespace) -> int:
    from ..docs.pages import TOPICS, page
    from . import UsageError

    if (options.topic is not None) + (options.output is not None) + options.man > 1:
        raise UsageError("name one of TOPIC, --output DIR (a site has every page) and --man")
    if options.man:
        return _man(options)
    if options.output:
        return _site(options)
    if options.topic is not None:
        check_names([options.topic], TOPICS, "page", "the documentation")
        found = page(options.topic, make)
        if options.json:
            print_json({"version": 1, **found._asdict()})
            return 0
        from ..docs.plain import plain

        width = min(shutil.get_terminal_size().columns, WIDEST)
        print(plain(found.text, width, lambda title: paint(title, "bold", sys.stdout)), end="")
        return 0
    if options.json:
        print_json({"version": 1, "topics": [{"topic": name, "summary": TOPICS[name]} for name in TOPICS]})
        return 0
    print(table(list(TOPICS.items())))
    tell("'pydotcompute docs TOPIC' shows one")
    return 0


def make(name: str) -> str:
    """A part of a page that is not written down."""
    if name in ("api", "commands"):
        from ..docs.inspected import api, commands
        from . import COMMANDS, parser

        return api() if name == "api" else commands(parser(*COMMANDS))
    from ..docs.tables import MAKERS

    return MAKERS[name]()


def _man(options: argparse.Namespace) -> int:
    from .. import __version__
    from ..docs.man import man
    from . import COMMANDS, parser

    text = man(parser(*COMMANDS), "pydotcompute", __version__)
    if options.json:
        print_json({"version": 1, "man": text})
    else:
        print(text, end="")
    return 0


def _site(options: argparse.Namespace) -> int:
    from ..docs.pages import TOPICS, page
    from ..docs.site import SiteError, write

    try:
        write([page(topic, make) for topic in TOPICS], options.output)
    except SiteError as error:
        say(str(error))
        return 1
    index = f"{options.output}/index.html"
    if options.json:
        print_json({"version": 1, "index": index, "topics": list(TOPICS)})
    else:
        print(index)
    return 0
