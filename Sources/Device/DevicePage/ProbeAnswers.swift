import AppServer

/// Answers to connectivity checks of operating systems. A redirection makes the phone open the device's page. The
/// expected content keeps the phone in its network once setup is done.
enum ProbeAnswers {
    /// Returns the expected answer; nil for requests that are not a known check.
    static func success(host: String, path: String) -> BrowserResponse? {
        // Android and ChromeOS request one of two paths from various hosts and expect 204.
        if path == "/generate_204" || path == "/gen_204" { return BrowserResponse(204) }
        guard let text = texts[host]?[path] else { return host == ubuntu ? BrowserResponse(204, ubuntuHeaders) : nil }
        let isHTML = text.hasPrefix("<")
        return BrowserResponse(
            200, [("Content-Type", isHTML ? "text/html" : "text/plain"), ("Cache-Control", "no-store")],
            body: Array(text.utf8))
    }

    private static let ubuntu = "connectivity-check.ubuntu.com"
    private static let ubuntuHeaders = [("X-NetworkManager-Status", "online")]
    private static let apple = "<HTML><HEAD><TITLE>Success</TITLE></HEAD><BODY>Success</BODY></HTML>\n"
    private static let networkManager = "NetworkManager is online\n"

    /// Texts by host and path.
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
