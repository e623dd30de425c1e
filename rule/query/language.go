package query

import "strings"

// languages has the codes of the older and longer of the X API's documented lists.
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

// oldCodes maps withdrawn language codes to the codes that replaced them. X still uses the old
// ones.
var oldCodes = map[string]string{"iw": "he", "in": "id", "ji": "yi"}

// currentCode returns a code in lower case. For a withdrawn code it returns the replacement.
func currentCode(code string) string {
	code = strings.ToLower(code)
	if now, ok := oldCodes[code]; ok {
		return now
	}
	return code
}

// sameLanguage reports whether a post in language got matches lang:want. want must come from
// currentCode. A region of got, as in zh-CN, matters only if want has a region. A script, as in
// hi-Latn, always matters.
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
