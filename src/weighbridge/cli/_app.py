"""Commands and their options; the heavy imports come after the first line is on the screen."""

from __future__ import annotations

from pathlib import Path

import click

EPILOG = "Example:  weighbridge demo --plot lines.svg"


@click.group(invoke_without_command=True, epilog=EPILOG)
@click.version_option(package_name="weighbridge", message="weighbridge %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Learning under covariate shift: importance weights you can trust."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@app.command()
@click.option(
    "--reading",
    type=click.Choice(["variances", "noise_sd", "all_sd", "script"]),
    default="variances",
    show_default=True,
    help="How to read the paper's numbers; see weighbridge.datasets.make_quadratic.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the data.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Picture of the fitted lines, .png or .svg.  [default: weighbridge-demo/lines.png]",
)
@click.option("--force", is_flag=True, help="Overwrite a file that the demo did not write.")
@click.option("--plain", is_flag=True, help="No colour, no progress.")
def demo(reading: str, seed: int, plot: Path | None, force: bool, plain: bool) -> None:
    """Fit a straight line to y = x^2 for another distribution of x (the paper's example).

    Every named weighting is fitted to the same 1,000 labelled rows. The simulator knows the
    target, so that each line's true error stands beside what it tends to with ever more rows.
    """
    click.echo("weighbridge demo: y = x^2 + noise, fitted by a straight line", err=True)
    from weighbridge.cli._demo import run

    run(reading, seed, plot, force=force, plain=plain)
