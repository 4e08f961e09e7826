import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Java's client as it is by default: it asks every server for HTTP/2, by an upgrade. */
public class Defaults {
    public static void main(String[] arguments) throws Exception {
        var client = HttpClient.newHttpClient();
        var read = HttpRequest.newBuilder(URI.create(arguments[0] + "/v1/status"));
        var send = HttpRequest.newBuilder(URI.create(arguments[0] + "/v1/messages?wait=20")).header("Accept", "text/plain")
            .header("Content-Type", "text/plain").POST(HttpRequest.BodyPublishers.ofString("echo upgrade by Java"));
        System.out.println(client.send(read.build(), BodyHandlers.ofString()).statusCode());
        System.out.print(client.send(send.build(), BodyHandlers.ofString()).body());
    }
}
