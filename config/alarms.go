package config

import (
	_ "embed" // alarms.txt
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxAlarms    = 1000 // entries; every line of every ticket is searched for each of them
	maxAlarmWord = 100  // bytes of an entry
)

//go:embed alarms.txt
var usualAlarms string

// longDefaults sets the alarms of alarms.txt, which says how they were chosen.
func (t *Ticket) longDefaults() {
	for line := range strings.Lines(usualAlarms) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			t.Alarms = append(t.Alarms, strings.Split(line, ", ")...)
		}
	}
}

// words checks that each entry of a list can be found in a text at all.
func (k *checker) words(key string, list []string) {
	if len(list) > maxAlarms {
		k.add(key, "has %d entries; at most %d are allowed", len(list), maxAlarms)
		return
	}
	for i, e := range list {
		at := fmt.Sprintf("%s[%d]", key, i)
		first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(strings.TrimPrefix(e, "-"), "*"))
		switch {
		case first == utf8.RuneError || !unicode.In(first, unicode.L, unicode.N, unicode.So): // So: emoji
			k.add(at, "%s does not begin with a letter; write a word or a phrase, \"*word\" to find it inside words "+
				"too, or -phrase for an exception", quote(e))
		case len(e) > maxAlarmWord:
			k.add(at, "%s has %d bytes; at most %d are allowed", quote(e), len(e), maxAlarmWord)
		}
	}
}
