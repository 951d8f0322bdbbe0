import posenc as pe


def test_grid_counts_the_last_axis_fastest():
    assert pe.grid(2, 1, 2).tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]
