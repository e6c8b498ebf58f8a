package pos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"ticketrail/receiver/contract"
)

// An answer is searched by paths, because the contract does not state the names of all fields. Unless its status is 2xx
// it has neither records nor texts.
type answer struct {
	status  int
	header  http.Header
	records json.RawMessage
	// texts are the texts and numbers of the rest by their dotted paths, such as meta.next. The first texts of a list
	// are joined by spaces; anything else is "".
	texts map[string]string
}

// open reads the body of an answer to any call.
func (v *Account) open(call string, a *answer, body []byte) error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &top); err != nil || top == nil {
		return v.fault(call, fmt.Sprintf("the answer of %d bytes is not a JSON object", len(body)),
			fmt.Sprintf("check whether service.base_url, %s, is the service's API, and not a web page", v.c.o.BaseURL))
	}

	a.records, a.texts = top[contract.FieldRecords], map[string]string{}
	delete(top, contract.FieldRecords)
	a.add("", top)

	// Some servers send an error with the status 200. Another status than ERROR may be the venue's.
	failed := top[contract.FieldError]
	if a.texts[contract.FieldStatus] == contract.ValueError || len(failed) > 0 && string(failed) != "null" {
		return v.fault(call, "the answer says that it is an error", adviceTell)
	}

	return nil
}

// add adds the texts of an object whose members have paths with this prefix, except those nested so deep that no place
// is named there.
func (a answer) add(prefix string, members map[string]json.RawMessage) {
	for name, raw := range members {
		var text string
		var inner map[string]json.RawMessage

		switch {
		case raw[0] == '{' && strings.Count(prefix, ".") < 4 && json.Unmarshal(raw, &inner) == nil:
			a.add(prefix+name+".", inner)
			continue
		case raw[0] == '[':
			words, _ := elements(raw, 64)
			for _, raw := range words {
				var word string
				_ = json.Unmarshal(raw, &word)
				text += " " + word
			}
		case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
			text = string(raw)
		default:
			_ = json.Unmarshal(raw, &text)
		}

		a.texts[prefix+name] = strings.TrimSpace(text)
	}
}

// keys names the paths: an operator looks for one of them.
func (a answer) keys() string {
	names := strings.Join(slices.Sorted(maps.Keys(a.texts)), ", ")
	return fmt.Sprintf("its keys are %q", oneLine(names, 2*maxQuote))
}

// elements returns at most so many elements of a list: an answer full of commas would take many times its size.
func elements(raw json.RawMessage, most int) (all []json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
		return nil, errors.New("want an array")
	}

	for decoder.More() && len(all) < most && err == nil {
		var one json.RawMessage
		err = decoder.Decode(&one)
		all = append(all, one)
	}

	return all, err
}

const maxQuote = 200 // bytes of a text that is shown: two lines of a terminal

// oneLine returns s as one line of at most so many bytes of visible characters: without control characters and those
// that change the direction of text, but with the joiners that Persian and the scripts of India are spelled with. It is
// idempotent, and "" where nothing can be seen.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case r == unicode.ReplacementChar, !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, s)

	s = strings.Join(strings.Fields(s), " ")

	if len(s) > most {
		s = strings.TrimSuffix(strings.ToValidUTF8(s[:most], ""), " ") // without half a character
	}

	if strings.Trim(s, " \u200c\u200d") == "" {
		return ""
	}

	return s
}
