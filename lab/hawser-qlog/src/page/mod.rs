//! One HTML file that shows a study and needs nothing else.

mod picture;

use crate::study::Study;

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("draw.js"), include_str!("page.js"));

/// Makes the page. Text of traces stands in it as data only; the page may load nothing and send nothing.
pub fn page(study: &Study) -> String {
    let data = serde_json::to_string(&picture::of(study)).unwrap_or_default();
    // Neither the end of the script nor a comment may begin in the data.
    let data = data.replace('<', "\\u003c");
    FRAME.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT).replace("/*DATA*/", &data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_trace_is_no_markup() {
        let text = "{\"title\":\"</script><img src=x onerror=alert(1)><!--\",\"trace\":{\"vantage_point\":{\"type\":\"client\"}}}\n\
            {\"time\":1,\"name\":\"packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":1},\
            \"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":5}]}}\n";
        let trace = crate::read(text.as_bytes(), "<b>").unwrap();
        let page = page(&Study::new(trace, None, crate::study::Options::default()));
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<img") && !page.contains("<b>") && page.contains("\\u003c/script>"));
        for elsewhere in
            ["http://", "https://", "src=\"", "@import", "innerHTML", "insertAdjacentHTML", "document.write"]
        {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
    }
}
