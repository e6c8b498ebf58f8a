package kds

import (
	"encoding/json"
	"slices"
	"sync"
)

// wordTable is the table of the texts of a page: a row for each, with its words in the languages that the row lang
// names. The first is English.
var wordTable = sync.OnceValue(func() (rows map[string][]string) {
	b, _ := webFolder.ReadFile("web/words.json") // embedded, and read by a test: neither can fail
	_ = json.Unmarshal(b, &rows)
	return rows
})

// wordsIn returns the texts of a page in a language; in English if there is no such column.
func wordsIn(language string) map[string]string {
	column := max(0, slices.Index(wordTable()["lang"], language))
	words := map[string]string{}
	for key, row := range wordTable() {
		words[key] = row[column]
	}
	return words
}
