//! The page's files, and the page as one file with its data inside.

/// The markup.
pub const HTML: &str = include_str!("../page/index.html");
/// The style.
pub const CSS: &str = include_str!("../page/app.css");
/// The code.
pub const JS: &str = include_str!("../page/app.js");

const STYLE_LINK: &str = "<link rel=\"stylesheet\" href=\"/app.css\">";
const SCRIPT_LINK: &str = "<script src=\"/app.js\" defer></script>";
const END: &str = "</body>";

/// The page as one file that needs no server: `frames` are inside, each as JSON, the oldest first.
///
/// ```
/// let html = heist::live::self_contained(["{\"at\":0,\"pools\":[]}"]);
/// assert!(html.starts_with("<!doctype html>"));
/// ```
pub fn self_contained<S: AsRef<str>>(frames: impl IntoIterator<Item = S>) -> String {
    let mut data = String::from("[");
    for (n, frame) in frames.into_iter().enumerate() {
        if n > 0 {
            data.push(',');
        }
        data.push_str(frame.as_ref());
    }
    data.push(']');
    // In JSON a `<` is always inside of a string, where it may be written so. Nothing can end the element, or begin a comment in it.
    let data = data.replace('<', "\\u003c");
    let style = format!("<style>{CSS}</style>");
    let end = format!(
        "<script type=\"application/json\" id=\"heist-data\">{data}</script>\n<script>{JS}</script>\n{END}"
    );
    let html = HTML.replacen(STYLE_LINK, &style, 1).replacen(SCRIPT_LINK, "", 1);
    let at = html.rfind(END).expect("the page has a body");
    format!("{}{end}{}", &html[..at], &html[at + END.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_everything_and_nothing_ends_its_data() {
        let html = self_contained(["{\"name\":\"</script><!--\"}", "{}"]);
        let begin = html.find("id=\"heist-data\">").unwrap() + "id=\"heist-data\">".len();
        let data = &html[begin..][..html[begin..].find("</script>").unwrap()];
        let told: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(told[0]["name"], "</script><!--");
        assert_eq!(told.as_array().unwrap().len(), 2);
        assert!(!html.contains("/app.css") && !html.contains("/app.js") && html.contains("color-scheme"));
    }

    /// The page is served without permission for inline script and style, so it must have none; and none of its code makes markup of text.
    #[test]
    fn the_page_keeps_its_own_policy() {
        assert!(HTML.contains(STYLE_LINK) && HTML.contains(SCRIPT_LINK));
        let attributes = [" style=", " onclick=", " onload=", "<style", "javascript:"];
        assert!(!attributes.iter().any(|bad| HTML.contains(bad)));
        assert_eq!(HTML.matches("<script").count(), 1);
        let calls =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"];
        assert!(!calls.iter().any(|bad| JS.contains(bad)));
        assert!(!JS.contains("</script") && !CSS.contains("</style"));
    }
}
