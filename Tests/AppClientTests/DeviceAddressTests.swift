import AppClient
import Testing

@Suite struct DeviceAddressTests {
    @Test(arguments: [
        ("lamp", "lamp", 25_863), ("lamp.local:4000", "lamp.local", 4000), ("192.168.1.5:1", "192.168.1.5", 1),
        ("[fe80::1%wlan0]:65535", "fe80::1%wlan0", 65_535), ("[::1]", "::1", 25_863),
        ("büro.example", "büro.example", 25_863),
    ])
    func anAddress(text: String, host: String, port: Int) throws {
        let address = try DeviceAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
    }

    @Test(arguments: [
        "", ":1", "lamp:", "lamp:0", "lamp:65536", "lamp:+1", "lamp:1x", "lamp:99999999999999999999", "::1",
        "fe80::1:25863",
        "[lamp]", "[::1", "[::1]x", "[::1]4000", "[]", "[fe80::1%]", "[fe80::1%0123456789abcdef]", "a b", "a/b",
        "u@lamp",
        "-lamp", "la\u{1b}mp", String(repeating: "a", count: 254),
    ])
    func noAddress(text: String) {
        #expect(throws: InvalidDeviceAddress.self) { try DeviceAddress(text) }
    }
}
