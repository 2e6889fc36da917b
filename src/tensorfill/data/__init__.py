from tensorfill.data.convert import observe as observe
from tensorfill.data.observations import Observations as Observations
