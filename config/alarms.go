package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxAlarms    = 1000 // entries; every line of every ticket is searched for each of them
	maxAlarmWord = 100  // bytes of an entry
)

// defaultAlarms are the words for an allergy, a shock, coeliac disease and an intolerance in the
// languages of most kitchens, and "nut free". "No nuts" is not among them: like "no onion" it is
// mostly a wish, and a kitchen that sees too many alarms overlooks the one that counts.
//
// Exceptions are only what cannot hide an allergy. "Not allergic" is none of them, because it may go
// on: "to fish, but to nuts".
func defaultAlarms() []string {
	return []string{
		// Most of Europe; * because of Nussallergie, nøddeallergi, pähkinäallergia.
		"allerg", "*allergi", "alerg", "allegry", "alerj",
		"anaphyl", "anafil", "anafyl", "epipen", "epi pen",
		"coeliac", "coeliaq", "cœliaq", "coeliak", "cøliak", "celiac", "celiak", "celiaq", "zöliak", "zoeliak",
		"keliak", "keliaak", "çölyak",
		"*intoleran", "intolleran", "nietoleran", "hassasiyet", "overgevoelig", "överkänslig", "overfølsom",
		"überempfindlich", "yliherk", "uczul", "nesnášenliv",
		"nut free", "nuts free", "peanut free", "sesame free", "*nussfrei", "notenvrij", "pindavrij", "nötfri",
		"nøddefri", "nøttefri", "pähkinätön",
		// Greek, Russian, Ukrainian
		"αλλεργ", "αναφυλα", "κοιλιοκ", "δυσανεξ",
		"аллерг", "анафил", "целиак", "непереносим", "алерг", "анафіл", "целіак",
		// Chinese, Japanese, Korean
		"过敏", "過敏", "乳糜泻", "乳糜瀉", "不耐",
		"アレルギ", "あれるぎ", "アナフィラ", "セリアック",
		"알레르기", "알러지", "아나필락", "셀리악", "불내증",
		// Arabic, Hebrew, Hindi, Vietnamese, Thai
		"*حساسي", "*تحسس", "*سيلياك", "*عدم تحمل",
		"*אלרג", "*צליאק", "אנפיל", "*רגישות",
		"एलर्ज",
		"dị ứng", "phản vệ", "không dung nạp",
		"แพ้",

		// Exceptions
		"-allergen free", "-free of allergen", "-free from allergen", "-non allergen", "-no allergen",
		"-no allergies", "-no known allerg", "-allergies: none", "-allergy friendly", "-*antiallerg", "-anti allerg",
		"-allergr", "-allergern", // German: allergrößte, the very largest
		"-keine allergien", "-ohne allergen", "-*allergenfrei", "-allergenarm",
		"-aucune allerg", "-sans allergen", "-sin alergen", "-sin alergias", "-senza allergen", "-nessuna allerg",
		"-geen allergieën", "-allergenenvrij", "-allergeenvrij", "-sem alergen", "-sem alergias",
		"-brak alerg", "-bez alergen", "-ingen allergier", "-inga allergi", "-allergenfri", "-ei allergioi",
		"-alerjisi yok", "-alerjen içermez",
		"-χωρίς αλλεργιογ", "-καμία αλλεργ",
		"-без аллерген", "-нет аллергии", "-без алерген", "-немає алергії",
		"-无过敏", "-没有过敏", "-無過敏", "-沒有過敏", "-低过敏", "-低過敏", "-抗过敏", "-抗過敏",
		"-アレルギーなし", "-アレルギー無", "-低アレルギ",
		"-알레르기 없음", "-알러지 없음",
		"-لا توجد حساسي", "-لا يوجد حساسي", "-*היפואלרג", "-ללא אלרגנ", "-אין אלרגי",
		"-di ungher", // Italian di Ungheria is no Vietnamese dị ứng
		"-แพ้ท้อง",   // morning sickness
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
