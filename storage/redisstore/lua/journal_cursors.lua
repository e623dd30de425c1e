-- uses: journal
return reply(get(K.journal, args(tonumber(arg()))))
