import AppServer

/// How operating systems look whether a network leads to the internet: each asks for a page whose content it knows.
///
/// A redirection has them open the device's page. The right answer keeps a phone in the network that it is in, once the
/// device needs it no more.
enum ProbeAnswers {
    /// What the system that asks is content with; nil where no system asks for that.
    static func success(host: String, path: String) -> WebResponse? {
        // Android, ChromeOS and their makers' own hosts ask for one of two paths, and want no content.
        if path == "/generate_204" || path == "/gen_204" { return WebResponse(204) }
        guard let text = texts[host]?[path] else { return host == ubuntu ? WebResponse(204, ubuntuHeaders) : nil }
        let isHTML = text.hasPrefix("<")
        return WebResponse(
            200, [("Content-Type", isHTML ? "text/html" : "text/plain"), ("Cache-Control", "no-store")],
            body: Array(text.utf8))
    }

    private static let ubuntu = "connectivity-check.ubuntu.com"
    private static let ubuntuHeaders = [("X-NetworkManager-Status", "online")]
    private static let apple = "<HTML><HEAD><TITLE>Success</TITLE></HEAD><BODY>Success</BODY></HTML>\n"
    private static let networkManager = "NetworkManager is online\n"

    /// By host and path.
    private static let texts: [String: [String: String]] = [
        "captive.apple.com": ["/hotspot-detect.html": apple, "/": apple],
        "www.apple.com": ["/library/test/success.html": apple],
        "www.msftconnecttest.com": ["/connecttest.txt": "Microsoft Connect Test"],
        "ipv6.msftconnecttest.com": ["/connecttest.txt": "Microsoft Connect Test"],
        "www.msftncsi.com": ["/ncsi.txt": "Microsoft NCSI"],
        "detectportal.firefox.com": [
            "/canonical.html":
                #"<meta http-equiv="refresh" content="0;url=https://support.mozilla.org/kb/captive-portal"/>"#,
            "/success.txt": "success\n",
        ],
        "nmcheck.gnome.org": ["/check_network_status.txt": networkManager],
        "network-test.debian.org": ["/nm": networkManager],
        "fedoraproject.org": ["/static/hotspot.txt": "OK"],
        "networkcheck.kde.org": ["/": "OK\n"],
    ]
}
