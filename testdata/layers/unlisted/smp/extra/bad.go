package extra // want unlisted

import _ "kpsim/sim" // want layer
