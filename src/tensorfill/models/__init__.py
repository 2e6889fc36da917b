from tensorfill.models.cp import CP as CP
from tensorfill.models.init import initial_factors as initial_factors
