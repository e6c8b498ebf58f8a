package webhook

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ticketrail/printer/layout"
)

// maxShown is how many characters of a text of the other side are shown.
const maxShown = 200

var urls = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"]+`)

// Redact is a text of the other side, or of a library, as one line that fits a log: without secrets and without URLs,
// which may have some.
func Redact(text string, secrets ...string) string {
	text = urls.ReplaceAllString(text, "[url]")
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}

	text = layout.OneLine(text)
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}

// Pieces are the parts of an address that may be secret: each longer part of it but the host, as it is written and as
// it is meant, because others decode it and compose it anew.
func Pieces(address string) (out []string) {

	shown := []string{"hook", "webhook"} // words of the addresses of messengers
	_, rest, _ := strings.Cut(address, "://")
	plain, err := url.QueryUnescape(rest)
	if err != nil {
		plain = rest
	}

	if parsed, err := url.Parse(address); err == nil {
		shown = append(shown, parsed.Hostname(), parsed.Port())
		password, _ := parsed.User.Password() // it may have separators
		out = append(out, password)
	}

	for _, separators := range []string{"/?&=:@#,+", "/?&=:@#,+-"} { // Slack's secret has three parts
		out = append(out, strings.FieldsFunc(rest+"&"+plain, func(r rune) bool {
			return strings.ContainsRune(separators, r)
		})...)
	}

	return slices.DeleteFunc(out, func(s string) bool { return len(s) < 4 || slices.Contains(shown, s) })
}
