// Package web serves the page of campaigns over HTTP: their progress, their finds, their workers. The same figures
// are available as JSON, and as metrics for Prometheus.
//
//	GET /?campaign=ID             the page; without an ID that of the last campaign
//	GET /status.json?campaign=ID  the coordinator's last status
//	GET /campaigns.json           all campaigns, the last one first
//	GET /find/CAUSE.kps           the smallest witness of a cause, for kpsim replay
//	GET /metrics                  for Prometheus
//
// What it is not: it changes nothing, and computes no figure of its own.
//
// Its rules. Nothing listens beyond loopback without TLS, unless a flag allows it. On loopback a request must name a
// loopback host, so that a page from elsewhere can't read along (DNS rebinding). All data from the board is
// untrusted: it is put on the page as text only, and the Content-Security-Policy lets nothing run or load but what is
// in the page.
//
// Its limit: anybody who can reach the port can read everything; there are no users and no passwords. The page asks
// once a second, and each request is one read of the board.
package web
