package config

import "strings"

// suggest returns the candidate that was probably meant by word, or "".
func suggest(word string, candidates []string) string {
	if len(word) > 64 {
		return ""
	}
	best, bestAt := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		// If every letter differs, it is not a typing mistake.
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestAt && d < len(word) {
			best, bestAt = c, d
		}
	}

	return best
}

// distance is the edit distance of a and b: how many letters were inserted, left out, changed or
// swapped with their neighbour.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}

	return rows[len(a)][len(b)]
}

// DidYouMean returns "; did you mean X?", or "" if no candidate is similar to word. Commands use it too.
func DidYouMean(word string, candidates []string) string {
	if meant := suggest(word, candidates); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return ""
}

// otherSections returns where a key that is unknown here does exist, or "": people often write
// listen at the top level.
func otherSections(name string, keys []string) string {
	var found []string
	for _, k := range keys {
		if k == name || strings.HasSuffix(k, "."+name) {
			found = append(found, k)
		}
	}

	if len(found) == 0 {
		return ""
	}
	return "; it exists as " + strings.Join(found, " and ")
}
