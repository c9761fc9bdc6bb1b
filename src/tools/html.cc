// SPDX-License-Identifier: BSD-3-Clause
#include "tools/html.h"

namespace verity::tools {

namespace {

constexpr const char* kStyle =
    R"(:root { color-scheme: light dark; --text: #1c2733; --dim: #51606e; --page: #fff; --head: #f2f5f7; --line: #d4dbe1; --new: #0b62a8; --old: #a85f00; }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe5ea; --dim: #9fabb6; --page: #14191e; --head: #1f272e; --line: #37424c; --new: #62b1f0; --old: #e5a04a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 2rem auto; max-width: 68rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
p { color: var(--dim); margin: .2rem 0; }
)";

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        out +=
            static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string page_head(std::string_view title, std::string_view style) {
  return R"(<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>)" +
         escaped(title) + "</title>\n<style>\n" + kStyle + std::string(style) +
         "</style>\n</head>\n<body>\n";
}

}  // namespace verity::tools
