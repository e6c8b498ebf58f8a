package kds

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"ticketrail/printer/kds/board"
)

// wordTable is the table of the texts of a page: a row for each, with its words in the languages that the row lang
// names. The first is English.
var wordTable = sync.OnceValue(func() (rows map[string][]string) {
	b, _ := webFolder.ReadFile("web/words.json") // embedded, and read by a test: neither can fail
	_ = json.Unmarshal(b, &rows)
	return rows
})

// Tell says a moment in English. The text may have names of the order.
func Tell(m board.Moment) string {
	text := cmp.Or(wordsIn("en")["did_"+m.What], m.What) // another version may have stored other moments
	return strings.NewReplacer("{station}", m.Station, "{item}", m.Item, "{at}", m.Paper).Replace(text)
}

// wordsIn returns the texts of a page in a language; in English if there is no such column.
func wordsIn(language string) map[string]string {
	column := max(0, slices.Index(wordTable()["lang"], language))
	words := map[string]string{}
	for key, row := range wordTable() {
		words[key] = row[column]
	}
	return words
}
