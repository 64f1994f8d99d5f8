import AgentModel
import AppProtocol
import AppServer
import Testing

@testable import DevicePage

@Suite struct RequestRateTests {
    private struct SilentDevice: DeviceService {
        func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
            throw ProtocolError(.busy, "busy")
        }
    }

    @Test func tooManyRequestsAreAnsweredWithASentence() async {
        let page = DevicePage(SilentDevice(), deviceId: "bench-01", keys: Keys(keys: []))
        let request = BrowserRequest(.get, "/", host: "kitchen.local", acceptLanguage: "de")
        var last = BrowserResponse(200)
        for _ in 0..<1000 where last.status == 200 {
            last = await page.inNetwork.respond(to: request, from: SiteBench.laptop)
        }
        #expect(last.status == 429 && last.header("Retry-After") != nil)
        #expect(last.text == Translation(.de)(.errorTooMany))
    }
}
