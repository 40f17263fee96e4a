package ppc64

func (in *Inst) alias() string { return "" }
