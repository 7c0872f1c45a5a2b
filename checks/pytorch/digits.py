"""Images of digits made from a font of 5 x 7 dots: moved about, of varying strength, with noise. Nothing is downloaded,
and the same seed gives the same images everywhere."""

SIDE = 12

FONT = """
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
""".split()


def glyphs(torch):
    """10 x 7 x 5: FONT has the rows of all ten digits side by side."""
    rows = [[[1.0 if dot == "#" else 0.0 for dot in FONT[row * 10 + digit]] for row in range(7)] for digit in range(10)]
    return torch.tensor(rows)


def make(torch, count, seed):
    """Images (count x 1 x SIDE x SIDE) and labels. Every digit comes as often as the others."""
    random = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 10
    shapes = glyphs(torch)[labels]
    down = torch.randint(0, SIDE - 7 + 1, (count,), generator=random)
    right = torch.randint(0, SIDE - 5 + 1, (count,), generator=random)
    strength = 0.6 + 0.4 * torch.rand(count, 1, 1, generator=random)
    images = torch.zeros(count, SIDE, SIDE)
    at = torch.arange(count).view(-1, 1, 1)
    rows = down.view(-1, 1, 1) + torch.arange(7).view(1, -1, 1)
    columns = right.view(-1, 1, 1) + torch.arange(5).view(1, 1, -1)
    images[at, rows, columns] = shapes * strength
    images += 0.1 * torch.randn(count, SIDE, SIDE, generator=random)
    return (images.unsqueeze(1) - 0.2) / 0.35, labels
