"""Every number of `auto` that decides about data by their size, before any entry held out is asked. There are ten.

Facts decide what a method may be tried on, by its own `suits`; what wins is decided by validation entries.
"""

from __future__ import annotations

# With fewer observations nothing can be held out: the answer is the means.
FEWEST = 8
# With fewer, each observation is held out once.
HANDFUL = 60
# With fewer, four folds: with six, errors of 16 small sets x 2 draws of gaps fell by 2 %.
SMALL = 700
# With fewer, two: one split leaves too much to chance. Up to 20,000 observations, three splits make answers differ less
# from seed to seed (by 1.0 to 3.3 % of the error on five sets of `bench choose`, 1.8 to 5.4 % with one), but leave so
# little time for trials that they are worse on others (etth by 11 %).
FEW = 5000
# Observations of the part of large data on which the contest is held: a tenth of them held out tells methods apart that
# differ by a percent.
PART = 200_000
# Slices that such a part has at least along the mode that is cut; with fewer, it would be another kind of data.
FEWEST_SLICES = 50
# Pixels along a side of the window of a picture or a video on which its contest is held.
SIDE = 96
# The share of known entries below which data are sparse. Of large ones the contest has the densest rows, as those
# of a few slices would be sparser still; and if they are too large for memory they are fitted in blocks of entries.
SPARSE = 0.125
# Times the budget of the contest: a method whose fit to all of large data takes longer is not tried.
LONGEST_FIT = 20.0
# The same for draws from all of large data, which are made fewer: of 400,000 ratings 40 % of the draws lost .04 % of
# the error, 20 % of them .3 %.
REFIT = 3.0
