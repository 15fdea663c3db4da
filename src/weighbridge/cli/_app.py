"""Commands and their options; the heavy imports come after the first line is on the screen."""

from __future__ import annotations

from pathlib import Path

import click

from weighbridge.cli._picture import DEFAULT_PLOT, check_plot

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
    help="Are the paper's N(0, 5), N(-5, 0.5), N(0, 5) variances or standard deviations? "
    "script: its example code.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of the data.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Picture of the fitted lines, .png or .svg.  [default: weighbridge-demo/lines.png]",
)
@click.option("--force", is_flag=True, help="Overwrite a file that the demo did not write.")
@click.option("--plain", is_flag=True, help="No colour.")
def demo(reading: str, seed: int, plot: Path | None, force: bool, plain: bool) -> None:
    """Run the paper's example: a straight line for shifted data.

    The truth is y = x^2 plus noise; the line is fitted where x is around 0, and used where x is
    around -5. Every named weighting is fitted to the same labelled rows. The simulator knows the
    target, so that each line's true error stands beside what it tends to with ever more rows.
    """
    path = plot or DEFAULT_PLOT
    drawable = check_plot(path, asked=plot is not None, force=force)
    click.echo("weighbridge demo: y = x^2 + noise, fitted by a straight line", err=True)
    from weighbridge.cli._demo import run

    run(reading, seed, path if drawable else None, plain=plain)
