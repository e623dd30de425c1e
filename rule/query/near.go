package query

// maxReach is the largest number of words of the text that can fill one place of a proximity
// phrase. That number is 1+near, and near is at most 6.
const maxReach = 7

// fillings is a set of ways. A way tells which words of the text within reach of one place of a
// phrase are taken by words of the phrase. It is a number in which the bit of word d is
// d%(1+near). A word that comes into reach reuses the bit of the word that goes out of reach.
type fillings [2]uint64

// lacking[b] has the ways that do not have bit b.
var lacking = func() (all [maxReach]fillings) {
	for way := range 1 << maxReach {
		for b := range all {
			if way>>b&1 == 0 {
				all[b][way/64] |= 1 << (way % 64)
			}
		}
	}
	return all
}()

func (f fillings) has(way int) bool { return f[way/64]>>(way%64)&1 != 0 }

// with returns the ways of f that lack bit b, with the bit set.
func (f fillings) with(b int) fillings {
	n := 1 << b
	lo, hi := f[0]&lacking[b][0], f[1]&lacking[b][1]
	return fillings{lo << n, hi<<n | lo>>(64-n)}
}

// without returns the ways of f that have bit b, with the bit cleared.
func (f fillings) without(b int) fillings {
	n := 1 << b
	lo, hi := f[0]&^lacking[b][0], f[1]&^lacking[b][1]
	return fillings{lo>>n | hi<<(64-n), hi >> n}
}

// assign gives each word of a proximity phrase a different token in the window that starts at
// base. It returns the first and last of these tokens. ok is false if that is impossible. The
// first pass, from the end, finds the ways that let the later words find tokens. In the second
// pass each word takes the first token that keeps such a way. One pass would not do, because a *
// can take the token that another word needs.
func (p *pattern) assign(tokens []token, base int, steps *int) (first, last int, ok bool) {
	reach := 1 + p.near
	fits := func(i, d int) bool {
		*steps++
		at, w := base+d, p.words[i]
		return at >= 0 && at < len(tokens) && (tokens[at].hash == w || w == anyWord && tokens[at].hash > linkWord)
	}
	// good[i] has the ways after placing word i that let the later words be placed.
	var good [maxNear]fillings
	next := fillings{^uint64(0), ^uint64(0)}
	for i := len(p.words) - 1; i >= 0; i-- {
		leaves := i % reach
		kept := fillings{next[0] & lacking[leaves][0], next[1] & lacking[leaves][1]}
		taken := kept.with(leaves)
		good[i] = fillings{kept[0] | taken[0], kept[1] | taken[1]}
		next = fillings{}
		for d := i; d < i+reach; d++ {
			if fits(i, d) {
				before := good[i].without(d % reach)
				next[0], next[1] = next[0]|before[0], next[1]|before[1]
			}
		}
		if next == (fillings{}) {
			return 0, 0, false
		}
	}
	if !next.has(0) {
		return 0, 0, false
	}
	first, last = len(tokens), -1
	way := 0
	for i := range p.words {
		for d := i; ; d++ {
			if bit := 1 << (d % reach); way&bit == 0 && good[i].has(way|bit) && fits(i, d) {
				way |= bit
				first, last = min(first, base+d), max(last, base+d)
				break
			}
		}
		way &^= 1 << (i % reach)
	}
	return first, last, true
}
