package query

import "strings"

// languages are the codes that the X API documents, in the older list, which is
// the longer one.
var languages = func() map[string]bool {
	m := map[string]bool{}
	for _, code := range strings.Fields(`am ar bg bn bo bs ca ckb cs cy da de dv el en es et eu fa fi fr gu
		he hi hi-latn hr ht hu hy id in is it iw ja ka km kn ko lo lt lv ml mr my ne nl no or pa pl ps pt
		ro ru sd si sk sl sr sv ta te th tl tr ug uk ur vi zh zh-cn zh-tw
		und`) {
		m[code] = true
	}
	return m
}()

// webLanguages are the codes that only the web adds.
var webLanguages = map[string]bool{"qam": true, "qct": true, "qht": true, "qme": true, "qst": true, "zxx": true}

func knownLanguage(code string, d Dialect) bool {
	code = strings.ToLower(code)
	return languages[code] || webLanguages[code] && !d.strict()
}

// oldCodes maps withdrawn codes, which X still uses, to those that replaced them.
var oldCodes = map[string]string{"iw": "he", "in": "id", "ji": "yi"}

// currentCode returns a code in lower case, and for a withdrawn code the one that replaced it.
func currentCode(code string) string {
	code = strings.ToLower(code)
	if now, ok := oldCodes[code]; ok {
		return now
	}
	return code
}

// sameLanguage reports whether a post in language got matches lang:want; want is
// a result of currentCode. A region counts only if the rule names one; a script, as in
// hi-Latn, always counts.
func sameLanguage(want, got string) bool {
	if len(got) == 2 {
		if now, ok := oldCodes[got]; ok {
			got = now
		}
	}
	if strings.EqualFold(want, got) {
		return true
	}
	return len(got) == len(want)+3 && got[len(want)] == '-' && strings.EqualFold(want, got[:len(want)])
}
