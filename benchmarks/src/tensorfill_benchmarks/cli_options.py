"""Options that several commands of `tensorfill bench` have."""

from __future__ import annotations

from typing import Annotated

import typer

Out = Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="Directory for the results.")]
Images = Annotated[str, typer.Option(metavar="DIR", help="Folder of pictures, of any names and sizes.")]
Observed = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Folder of incomplete pictures, house60.tiff: 255 = missing. Else masks are drawn."
    ),
]
Names = Annotated[str | None, typer.Option(metavar="a,b", help="Which pictures of the folder, by name.")]
Data = Annotated[str | None, typer.Option(metavar="DIR", help="Folder with hangzhou.mat.")]
Rates = Annotated[str, typer.Option(metavar="60,90", help="Percent missing.")]
Methods = Annotated[str | None, typer.Option(metavar="a,b", help="Which methods; by default the paper's ten and auto.")]
Seeds = Annotated[str, typer.Option(metavar="0,1", help="Each gives a mask and a start.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small and short, to see that it works.")]
Again = Annotated[bool, typer.Option("--again", help="Run also what is finished.")]
