package overhead

import (
	_ "kpsim/cmd/kpsim/docstest" // want layer
	_ "kpsim/properties"
)
