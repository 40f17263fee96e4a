package patches

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"

	"kpsim/internal/lazyregexp"
)

// between matches the line that an mbox puts before each mail.
var between = lazyregexp.New(`(?m)^From \S+ +\w{3} \w{3} +\d{1,2} \d{1,2}:\d\d(?::\d\d)? .*\d{4}\r?$`)

// split cuts an mbox into mails. A text without such lines is one mail.
func split(text []byte) (mails [][]byte) {
	from := 0
	for _, at := range between().FindAllIndex(text, -1) {
		// a diff's line begins with another character, and a mail's text doesn't follow an empty line so by chance
		if before := text[:at[0]]; at[0] > 0 && !bytes.HasSuffix(before, []byte("\n\n")) &&
			!bytes.HasSuffix(before, []byte("\n\r\n")) {
			continue
		}
		if at[0] > from {
			mails = append(mails, text[from:at[0]])
		}
		from = at[0]
	}
	return append(mails, text[from:])
}

// commit matches the line that git format-patch begins a mail with.
var commit = lazyregexp.New(`^From ([0-9a-f]{7,64}) `)

func commitOf(mail []byte) string {
	if m := commit().FindSubmatch(mail); m != nil {
		if c := string(m[1]); strings.Trim(c, "0") != "" { // git format-patch --zero-commit
			return c
		}
	}
	return ""
}

// header matches the first line of a mail's header.
var header = lazyregexp.New(`^[A-Za-z][A-Za-z0-9-]*:[ \t]?\S`)

// decoded returns a mail's header and its texts, decoded and with lines that end in LF. What doesn't begin as a mail
// does is a diff.
func decoded(text []byte) (head mail.Header, body []byte, err error) {
	rest := text
	if between().Match(firstLine(text)) || commit().Match(text) {
		rest = text[min(len(firstLine(text))+1, len(text)):]
	}
	if !header().Match(rest) || bytes.HasPrefix(rest, []byte("Index:")) { // as quilt and svn begin a diff
		return mail.Header{}, ends(text), nil
	}
	m, err := mail.ReadMessage(bufio.NewReader(bytes.NewReader(rest)))
	if err != nil {
		return nil, nil, fmt.Errorf("its header can't be read: %s; give a mail as git format-patch writes it",
			oneLine(err))
	}
	var dec mime.WordDecoder
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	if s, err := dec.DecodeHeader(m.Header.Get("Subject")); err == nil {
		m.Header["Subject"] = []string{s}
	}
	body, err = part(m.Header, m.Body, mostParts)
	if err != nil {
		return nil, nil, fmt.Errorf("its text can't be read: %s; give the mail as it was sent, or the diff alone",
			oneLine(err))
	}
	return m.Header, ends(body), nil
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// mostParts is the greatest depth of parts in parts of a mail.
const mostParts = 8

// values has a part's header.
type values interface{ Get(key string) string }

// part returns the text of a mail, or of one of its parts. Of several texts it returns all: a patch may be attached.
func part(head values, body io.Reader, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, errors.New("too many parts in one another")
	}
	kind, params, err := mime.ParseMediaType(head.Get("Content-Type"))
	if err != nil {
		kind = "text/plain" // as RFC 2045, 5.2, says
	}
	switch strings.ToLower(strings.TrimSpace(head.Get("Content-Transfer-Encoding"))) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	if strings.HasPrefix(kind, "multipart/") {
		var all []byte
		r := multipart.NewReader(body, params["boundary"])
		for {
			p, err := r.NextRawPart() // which decodes nothing, as this does
			if err == io.EOF {
				return all, nil
			}
			if err != nil {
				return nil, err
			}
			some, err := part(p.Header, p, depth-1)
			if err != nil {
				return nil, err
			}
			all = append(append(all, some...), '\n')
			if kind == "multipart/alternative" { // all say the same
				return all, nil
			}
		}
	}
	text, err := io.ReadAll(io.LimitReader(body, Most+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > Most:
		return nil, fmt.Errorf("longer than %d bytes", Most)
	case !strings.HasPrefix(kind, "text/") && !bytes.Contains(text, []byte("\n@@ -")):
		return nil, nil // a signature, a picture
	}
	return text, nil
}

// ends makes lines end in LF, if all end in CR LF, as a mail's do on its way.
func ends(text []byte) []byte {
	if n := bytes.Count(text, []byte("\n")); n > 0 && n == bytes.Count(text, []byte("\r\n")) {
		return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return text
}
