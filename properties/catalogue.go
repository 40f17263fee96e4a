package properties

// All is the catalogue. Several properties may find fault with one event; the
// first in this order gets the finding, so that a cause stands before what
// follows from it.
var All = []*Property{
	&NoStartInside,
	&WholeInstructions,
	&NoSailPast,
	&OwnedBreakpoint,
	&RightResult,
	&Transparent,
	&Accounted,
	&PostCalled,
	&ReturnPairs,
	&Instances,
	&HandlerContext,
	&Answers,
	&Linearizable,
	&AfterUnregister,
	&TextRestored,
	&OptimizationOff,
	&AllOff,
	&NoUseAfterFree,
	&NoOops,
	&Locks,
	&Progress,
	&OptimizedAgain,
	&Returns,
	&Unoptimized,
	&TextAgrees,
	&ListAgrees,
}

// ByName returns the property of that name, or of that ID.
func ByName(name string) (*Property, bool) {
	for _, p := range All {
		if p.Name == name || p.ID == name {
			return p, true
		}
	}
	return nil, false
}
