"""Views: how far they are from the rows, and what they must not do to them."""

import numpy as np
import pytest
import torch

from recoup.learners._training.views import (
    CHANGES,
    PIXEL_CHANGES,
    ImageViews,
    _moved,
    _pixels_changed,
    one_hot_blocks,
    views_of,
)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def one_hot(n, sizes):
    """Return rows of categories, one column for each level, at two arbitrary values."""
    rng = np.random.default_rng(0)
    parts = [np.eye(size)[rng.integers(size, size=n)] for size in sizes]
    return torch.tensor(np.hstack(parts) * 3 - 1, dtype=torch.float32)


def test_noise_follows_the_spread_of_features():
    X = torch.randn(4000, 3) * torch.tensor([1.0, 10.0, 0.0]) + 5
    views = views_of(X)
    weak, strong = views.weak(X) - X, views.strong(X)
    assert weak.std(0).tolist() == pytest.approx([0.02, 0.2, 0.0], rel=0.1)
    lost = strong == X.mean(0)
    assert lost[:, :2].float().mean(0).tolist() == pytest.approx([0.1, 0.1], abs=0.02)
    kept = (strong - X)[:, 1][~lost[:, 1]]
    assert kept.std().item() == pytest.approx(1.0, rel=0.1)


def test_rows_of_length_one_stay_so():
    X = torch.nn.functional.normalize(torch.randn(50, 20))
    for view in (views_of(X).weak(X), views_of(X).strong(X)):
        assert view.norm(dim=1).tolist() == pytest.approx([1.0] * 50, abs=1e-5)
    assert views_of(3 * X).weak(3 * X).norm(dim=1).mean().item() == pytest.approx(3, abs=0.05)


def test_categories_are_found_and_stay_categories():
    X = torch.cat([torch.randn(900, 1), one_hot(900, (3, 2, 4)), torch.randn(900, 2)], 1)
    blocks = one_hot_blocks(X)
    assert blocks.tolist() == [-1, 0, 0, 0, 1, 1, 2, 2, 2, 2, -1, -1]
    views = views_of(X)
    levels = slice(1, 10)
    assert torch.equal(views.weak(X)[:, levels], X[:, levels])
    strong = views.strong(X)
    for start, end in ((1, 4), (4, 6), (6, 10)):
        assert ((strong[:, start:end] == 2).sum(1) == 1).all()
        assert ((strong[:, start:end] == -1).sum(1) == end - start - 1).all()
    # A tenth is drawn anew, and some of those draw the level that they had.
    changed = (strong[:, 6:10] != X[:, 6:10]).any(1).float().mean().item()
    assert changed == pytest.approx(0.1 * 3 / 4, abs=0.03)


def test_flags_and_numbers_are_no_categories():
    flags = (torch.rand(500, 4) < 0.5).float()
    assert one_hot_blocks(flags) is None
    assert one_hot_blocks(torch.randn(500, 4)) is None
    assert one_hot_blocks(torch.ones(10, 3)) is None


def images(n=64, channels=1, side=28):
    return 2 * torch.rand(n, channels, side, side) - 1


def test_weak_views_are_moved_images():
    X = torch.full((200, 1, 16, 16), -1.0)
    X[:, :, 8, 8] = 1.0
    found = views_of(X).weak(X)
    assert found.shape == X.shape
    assert found.sum((1, 2, 3)).unique().tolist() == [-254.0]
    places = found.flatten(1).argmax(1)
    assert set((places // 16).tolist()) == set((places % 16).tolist()) == {6, 7, 8, 9, 10}


@pytest.mark.parametrize(
    ("channels", "flip", "expected"), [(1, None, 0), (3, None, 1), (3, False, 0)]
)
def test_only_images_with_colors_are_mirrored_unless_told(channels, flip, expected):
    X = torch.zeros(400, channels, 16, 16)
    X[..., :4] = 1.0
    mirrored = (views_of(X, flip=flip).weak(X)[..., 12:].mean((1, 2, 3)) > 0.4).float().mean()
    assert mirrored.item() == pytest.approx(0.5 * expected, abs=0.1)


@pytest.mark.parametrize("channels", [1, 3])
def test_strong_views_stay_between_the_ends(channels):
    X = images(200, channels)
    X[0, 0, 0, :2] = torch.tensor([-1.0, 1.0])
    found = views_of(X, changes=3, chance=1.0).strong(X)
    assert found.shape == X.shape
    assert found.isfinite().all()
    assert found.min() >= -1 - 1e-5
    assert found.max() <= 1 + 1e-5


def test_holes():
    X = torch.ones(300, 1, 32, 32)
    same = ImageViews(0.0, 1.0, flip=False, changes=0, chance=0.0, hole_varies=False)
    sizes = (same.strong(X) == 0.5).sum((1, 2, 3))
    assert sizes.max() == 16 * 16
    assert sizes.min() >= 8 * 8
    varied = ImageViews(0.0, 1.0, flip=False, changes=0, chance=0.0, hole_varies=True)
    assert (varied.strong(X) == 0.5).sum((1, 2, 3)).float().mean() < 0.6 * sizes.float().mean()


def test_changes_of_pixels():
    X = torch.tensor([0.2, 0.4, 0.6, 0.8]).reshape(1, 1, 2, 2)

    def changed(name, size):
        kind = torch.tensor([CHANGES.index(name)])
        return _pixels_changed(X, kind, torch.tensor([size])).flatten().tolist()

    assert changed("nothing", 0.9) == X.flatten().tolist()
    assert changed("rotate", 0.9) == X.flatten().tolist()
    assert changed("darken", 0.5) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert changed("invert", 0.5) == pytest.approx([0.2, 0.4, 0.4, 0.2])
    assert changed("contrast to the full", 0.5) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert changed("flatten", 0.5) == pytest.approx([0.35, 0.45, 0.55, 0.65])
    # Four bits: steps of 16 from 0 to 255.
    assert changed("posterize", 0.1) == pytest.approx([48 / 255, 96 / 255, 144 / 255, 192 / 255])
    assert changed("grey", 0.5) == pytest.approx(X.flatten().tolist())
    assert len({tuple(changed(name, 0.3)) for name in PIXEL_CHANGES}) == len(PIXEL_CHANGES)


def test_changes_of_places():
    def moved(name, size, ratio=1.0):
        kind = torch.tensor([CHANGES.index(name)])
        return _moved(kind, torch.tensor([size]), ratio)[0].numpy()

    assert np.array_equal(moved("nothing", 0.9), np.eye(3))
    assert np.array_equal(moved("darken", 0.9), np.eye(3))
    assert moved("move x", 0.5)[0] == pytest.approx([1, 0, 0.3])
    assert moved("shear y", -1.0)[1] == pytest.approx([-0.3, 1, 0])
    assert moved("rotate", 1.0)[:2, :2] == pytest.approx(
        np.array([[3**0.5 / 2, -0.5], [0.5, 3**0.5 / 2]]), abs=1e-6
    )


def test_each_row_draws_for_itself_and_a_seed_settles_all():
    X = images(8).expand(8, 1, 28, 28)[:1].repeat(8, 1, 1, 1)
    views = views_of(images())
    found = [[torch.manual_seed(3), views.strong(X)][1] for _ in range(2)]
    assert torch.equal(*found)
    assert len(torch.unique(found[0].flatten(1), dim=0)) > 1
