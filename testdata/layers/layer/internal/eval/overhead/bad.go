package overhead

import (
	_ "kpsim/cmd/kpsim/page" // want layer
	_ "kpsim/properties"
)
