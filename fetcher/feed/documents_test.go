package feed

// Documents in the shapes of the formats' specifications: RSS 2.0 (rssboard.org), RSS 1.0
// (web.resource.org), RFC 4287, jsonfeed.org 1.1, Media RSS and WebSub. Names and contents
// are made up.

// fullRSS has what the adapter maps of RSS.
const fullRSS = `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:content="http://purl.org/rss/1.0/modules/content/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"><channel>
<title>Ice &amp;amp; snow</title><link>https://ice.example.org/</link><language>en-GB</language><ttl>30</ttl>
<atom:link rel="self" href="/rss"/><atom:link rel="hub" href="https://hub.example.com/"/><atom:link rel="HUB" href="https://hub2.example.com/"/>
<item>
 <title>A &lt;b&gt;ridge&lt;/b&gt; of List&amp;lt;Ice&amp;gt; &amp;amp; more</title>
 <guid isPermaLink="false"> urn:1 </guid><guid>urn:0</guid>
 <link>/2026/ridge?a=1&amp;utm_source=rss</link>
 <dc:creator>Ann</dc:creator>
 <pubDate>Mon, 02 Mar 2026 21:00:00 +0900</pubDate>
 <category> ice </category><category>ice</category><category>snow</category>
 <description>short</description>
 <content:encoded><![CDATA[<p>Day 12: <a href="https://other.example/x">a link</a></p><p>and more</p><script>no()</script>]]></content:encoded>
 <enclosure url="/12.mp3" type="audio/mpeg" length="1234"/><enclosure url="/12.pdf" type="application/pdf" length="-1"/>
 <media:group><media:content url="https://img.example.org/12.jpg" medium="image"/><media:content url="https://img.example.org/12.mp4" type="video/mp4" fileSize="99"/></media:group>
</item>
<item><guid>https://ice.example.org/permalink</guid><description>No title here, only a text</description><pubDate>Mon, 02 Mar 2026 09:00:00 +0100</pubDate></item>
<item><link>javascript:alert(1)</link><title>odd</title><pubDate>1772445600</pubDate></item>
</channel></rss>`

// fullAtom has what the adapter maps of Atom.
const fullAtom = `<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Eis</title><id>urn:feed</id><author><name>Eve</name></author>
<link rel="alternate" href="https://ice.example.org/"/><link rel="self" href="https://ice.example.org/atom"/><link rel="hub" href="https://hub.example.com/"/>
<link rel="next" href="?page=2"/>
<entry><id>tag:ice.example.org,2026:1</id><title type="html">Eis &amp;amp; Schnee</title><link href="/1"/><link rel="enclosure" href="/1.webp" type="image/webp" length="7"/>
<media:group xmlns:media="http://search.yahoo.com/mrss/"><media:content url="/1.bin" medium="video" fileSize="9"/></media:group>
<published>2026-03-02T12:00:00.123+01:00</published><updated>2026-03-03T12:00:00Z</updated><category term="eis" label="Eis"/>
<author><name>Ann</name></author><author><email>bob@example.org</email></author><summary>kurz
  und gut</summary></entry>
<entry><id>tag:ice.example.org,2026:2</id><title>nur updated</title><updated>2026-03-01T12:00:00Z</updated><content type="html">&lt;p&gt;nur updated, und mehr&lt;/p&gt;</content></entry></feed>`

// fullJSON has what the adapter maps of JSON Feed.
const fullJSON = `{"version":"https://jsonfeed.org/version/1.1","title":"Ice","home_page_url":"https://ice.example.org/","feed_url":"https://ice.example.org/feed.json",
"next_url":"https://ice.example.org/feed.json?page=2","language":"en","authors":[{"name":"Eve"}],
"hubs":[{"type":"rssCloud","url":"https://cloud.example.com/"},{"type":"WebSub","url":"https://hub.example.com/"}],
"items":[{"id":42,"url":"https://ice.example.org/1","title":"One","content_text":"a < b\n  and c","date_published":"2026-03-02T12:00:00+01:00","tags":["ice"],
"language":"fr","image":"https://img.example.org/1.png","attachments":[{"url":"https://ice.example.org/1.mp3","mime_type":"audio/mpeg","size_in_bytes":1234}]},
{"id":"2","external_url":"https://other.example/","content_html":"<p>x</p>"}]}`
