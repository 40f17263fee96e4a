package shrink

// ThroughInterrupt lets the tests of this folder ask it of a witness that a search has made.
var ThroughInterrupt = throughInterrupt
