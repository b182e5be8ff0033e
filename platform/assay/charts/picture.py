"""A PNG of a chart, for messages and pages that show no SVG: drawn by resvg in the font that ttf-opensans brings."""

import resvg_py
from ttf_opensans import OPENSANS_REGULAR, OPENSANS_SEMIBOLD

FONTS = [str(font.path) for font in (OPENSANS_REGULAR, OPENSANS_SEMIBOLD)]


def picture_of(svg: str, *, zoom: float = 2.0) -> bytes:
    """The PNG of an SVG text of ``draw(…, is_picture=True)``, of ``zoom`` pixels for each of its own.

    Letters that Open Sans lacks are drawn in a font of the system, where it has one. Raises ValueError for what is no
    SVG.
    """
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, font_files=FONTS, sans_serif_family="Open Sans", zoom=zoom))
