package axioms
