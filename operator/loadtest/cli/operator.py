"""`loadtest operator`."""

from __future__ import annotations

import asyncio
import logging
import sys

import click
import kopf

from loadtest import settings
from loadtest.reconcile import trace


def main() -> int:
    """Run the operator until it is told to stop; 2 where its settings are wrong."""
    from loadtest import app

    try:
        loaded = settings.load()
    except settings.BadSettings as error:
        click.echo(f"loadtest operator: {error}", err=True)
        return 2
    kopf.configure(log_format=kopf.LogFormat.JSON if loaded.json_logs else kopf.LogFormat.FULL)
    logging.getLogger("loadtest").setLevel(logging.INFO)
    for handler in logging.getLogger().handlers:
        handler.addFilter(trace.Fields())
    try:
        asyncio.run(app.run(loaded))
    except KeyboardInterrupt:
        return 130
    sys.stdout.flush()
    return 0
