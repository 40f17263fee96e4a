package gate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// A ticket proves that a unit was handed out.
type ticket struct {
	Key      string `json:"key"` // the unit's
	Delivery uint64 `json:"delivery"`
	Ack      string `json:"ack"` // the subject that acknowledges the message to the server

	unit plan.Unit
}

// seal signs a ticket, so that a worker can hold it.
func (g *Gate) seal(t *ticket) (string, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(data) + "." + hex.EncodeToString(g.sign(data)), nil
}

func (g *Gate) sign(data []byte) []byte {
	h := hmac.New(sha256.New, g.secret)
	h.Write(data)
	return h.Sum(nil)
}

// open reads a ticket that a coordinator has signed. All coordinators share the secret.
func (g *Gate) open(s string) (*ticket, error) {
	text, sum, ok := strings.Cut(s, ".")
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, refuse("the ticket is malformed")
	}
	if sig, err := hex.DecodeString(sum); err != nil || !hmac.Equal(sig, g.sign(data)) {
		return nil, refuse("no coordinator has signed this ticket")
	}
	t := new(ticket)
	if err := json.Unmarshal(data, t); err != nil {
		return nil, refuse("the ticket is malformed")
	}
	if t.unit, err = board.UnitOf(t.Key); err != nil {
		return nil, refuse("the ticket names no unit")
	}
	return t, nil
}
