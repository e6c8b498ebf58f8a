package pos

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// An answer is searched by paths, because the contract does not state the names of all fields. Unless its status is 2xx
// it has no body.
type answer struct {
	status int
	header http.Header
	body   contract.Value
}

// isError says that the answer is an error with the status 200, as some servers send it. Another status than ERROR may
// be the venue's.
func (a answer) isError() bool {
	failed := a.body.Get(contract.FieldError).Kind()
	return a.text(contract.FieldStatus) == contract.ValueError || failed != 0 && failed != 'n'
}

// text is the text or the number at a dotted path, such as meta.next.
func (a answer) text(path string) string { return text(a.body.At(path)) }

func text(v contract.Value) string {
	if v.Kind() != '"' && v.Kind() != '0' {
		return ""
	}
	return strings.TrimSpace(v.Text())
}

// keys names the paths beside the records: an operator looks for one of them.
func (a answer) keys() string {
	var names []string
	var add func(prefix string, v contract.Value)
	add = func(prefix string, v contract.Value) {
		for member := range v.All() {
			switch path := prefix + member.Key(); {
			case member.Kind() == '{' && len(path) < maxQuote:
				add(path+".", member)
			case path != contract.FieldRecords:
				names = append(names, path)
			}
		}
	}

	add("", a.body)
	slices.Sort(names)
	return fmt.Sprintf("its keys are %q", contract.OneLine(strings.Join(names, ", "), 2*maxQuote))
}

const maxQuote = 200 // bytes of a text that is shown: two lines of a terminal
