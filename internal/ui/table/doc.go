// Package table renders results: a table is said once, as columns, and rendered as text, Markdown, HTML or JSON.
//
// What it is: a Column says of a row what it is called in texts and in JSON, how a number is written, and how it is got
// from the row. Columns make of rows a Grid, which is printed folded to the terminal or in Markdown and goes into
// HTML pages, or one JSON object a row. A Grid may also be filled by hand, where the columns depend on the result.
//
// What it is not: it measures nothing and knows no verb; captions and notes are the caller's.
//
// Its rule: a column more is a row more in a list of columns, and nothing else.
//
// Its limits: a row has one line; a cell isn't folded by itself.
package table
