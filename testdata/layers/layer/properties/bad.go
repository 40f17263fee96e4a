package properties

import (
	_ "kpsim/smp/fetch" // want layer
	_ "kpsim/traces"
)
