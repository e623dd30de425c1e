package storetest

// errorCases test calls that a role refuses.
func (r recordRole[T]) errorCases() []storeCase {
	type call = func(t recordTest[T]) error
	update := func(owner, id string) call {
		return func(t recordTest[T]) error { return t.recs.Update(t.Context(), r.make(owner, id, "name", "active")) }
	}
	create := func(owner, id, name string) call {
		return func(t recordTest[T]) error { return t.recs.Create(t.Context(), r.make(owner, id, name, "active")) }
	}
	get := func(owner, id string) call {
		return func(t recordTest[T]) error { _, err := t.recs.Get(t.Context(), owner, id); return err }
	}
	remove := func(owner, id string) call {
		return func(t recordTest[T]) error { return t.recs.Delete(t.Context(), owner, id) }
	}
	var cases []storeCase
	for _, row := range []struct {
		name string
		call call
		want error
	}{
		{"Create refuses a name the owner has", create("acme", "new", "name 1"), r.duplicate},
		{"Create refuses an id in use", create("acme", "1", "new"), r.duplicate},
		{"Create refuses an id that another owner uses", create("acme", "theirs", "new"), r.duplicate},
		{"Create allows a name that another owner has", create("initech", "new", "name 1"), nil},
		{"Get does not find an unknown id", get("acme", "x"), r.notFound},
		{"Get does not find another owner's id", get("acme", "theirs"), r.notFound},
		{"Update does not find an unknown id", update("acme", "x"), r.notFound},
		{"Update does not find another owner's id", update("acme", "theirs"), r.notFound},
		{"Delete does not find an unknown id", remove("acme", "x"), r.notFound},
		{"Delete does not find another owner's id", remove("acme", "theirs"), r.notFound},
	} {
		cases = append(cases, storeCase{name: row.name, run: func(t *storeTest) {
			rt := r.with(t, 3)
			mine, theirs := rt.get("acme", "1"), rt.get("globex", "theirs")
			t.refused(row.call(rt), row.want, "%s", row.name)
			t.same(rt.get("acme", "1"), mine, "a call that was refused changed the owner's %s", r.noun)
			t.same(rt.get("globex", "theirs"), theirs, "a call for acme changed globex's %s", r.noun)
		}})
	}
	return append(cases, r.orderOfErrors()...)
}

// orderOfErrors returns cases of calls that are wrong in more than one way.
func (r recordRole[T]) orderOfErrors() []storeCase {
	on := func(name string, rec func(recordTest[T]) T, want error) storeCase {
		return storeCase{name: name, run: func(t *storeTest) {
			rt := r.with(t, 3)
			mine := rt.get("acme", "1")
			t.refused(rt.recs.Update(t.Context(), rec(rt)), want, "%s", name)
			t.same(rt.get("acme", "1"), mine, "a call that was refused changed the owner's %s", r.noun)
		}}
	}
	return []storeCase{
		on("Update of an unknown id is not found, though its name is taken", func(t recordTest[T]) T { return r.make("acme", "x", "name 2", "active") }, r.notFound),
		on("Update of another owner's id is not found, though its version is wrong", func(t recordTest[T]) T {
			rec := r.make("acme", "theirs", "name 2", "active")
			*r.version(&rec) += 7
			return rec
		}, r.notFound),
		on("Update of another version is a conflict, though its name is taken", func(t recordTest[T]) T {
			rec := t.get("acme", "1")
			r.rename(&rec, "name 2")
			*r.version(&rec) += 7
			return rec
		}, r.conflict),
	}
}
