-- A process that drives runs looks for requests to them only after such a notice, however many other commits there are.
CREATE FUNCTION announce_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY planwright_requests;
    RETURN NULL;
END
$$;
CREATE TRIGGER announced AFTER INSERT OR UPDATE ON cancel_requests FOR EACH STATEMENT EXECUTE FUNCTION announce_request();
CREATE TRIGGER announced AFTER INSERT OR UPDATE ON plan_approvals FOR EACH STATEMENT EXECUTE FUNCTION announce_request();
